"""``talkdown refresh``: compare the folder with the index, and say what changed (C7, C16)."""

from __future__ import annotations

from embedded.harmless import Writer
from embedded.instances import Instance


def refresh(instance: Instance, out: Writer, *, rebuild: bool = False) -> int:
    """Ask for a refresh and write its report; 0 when it finished, 1 when it failed and left the corpus as it was."""
    report = instance.ask_json("POST", "/api/corpus/refresh", {"rebuild": rebuild}, timeout_s=None)
    for word in ("added", "changed", "deleted", "unchanged"):
        out.write(f"{word:<10} {report[word]}\n")
    out.write(f"{'rejected':<10} {len(report['rejected'])}\n")
    for file in report["rejected"]:
        out.write(f"  {file['path']}: {file['reason']}\n")
    out.write(f"{'took':<10} {report['duration_ms'] / 1000:.2f} s\n")
    if report["status"] == "failed":
        out.write(f"failed: {report.get('reason') or 'no reason was given'} The corpus is as it was before.\n")
        return 1
    return 0
