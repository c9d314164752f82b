"""``talkdown status``: the folder, the index, and the services of a running instance."""

from __future__ import annotations

import json
from typing import Any

from embedded.harmless import Writer
from embedded.instances import Instance


def show(instance: Instance, out: Writer, *, as_json: bool = False) -> int:
    """Write what the instance says of itself; 0 when all of it is ready, 1 when something is not."""
    corpus = instance.ask_json("GET", "/api/corpus")
    if as_json:
        out.write(json.dumps(corpus, indent=2, ensure_ascii=False) + "\n")
    else:
        out.write("".join(f"{line}\n" for line in _lines(instance, corpus)))
    ready = all(service["state"] == "ready" for service in corpus["services"])
    return 0 if ready and corpus["state"] != "failed" else 1


def _in_calls(corpus: dict[str, Any]) -> list[str]:
    """What leaves in calls that the server holds, where it does not leave anyway."""
    always = {(one["what"], one["to"]) for one in corpus["leaves"]}
    says = {
        "questions": "questions and passages go to {to}, whose model answers",
        "voice": "voice, questions and passages go to {to}, where its speech model answers",
    }
    return [
        says[one["what"]].format(to=one["to"])
        for one in corpus["calls"]
        if one["what"] in says and (one["what"], one["to"]) not in always
    ]


def _lines(instance: Instance, corpus: dict[str, Any]) -> list[str]:
    waiting = sum(file["state"] == "waiting" for file in corpus["files"])
    rejected = [file for file in corpus["files"] if file["state"] == "rejected"]
    lines = [
        f"page       {instance.run.url if instance.run else instance.url}",
        f"folder     {corpus['folder']} (by {corpus['watching']})",
        f"index      {corpus['state']}: {corpus['documents']} documents, {corpus['chunks']} passages"
        f"{f', {waiting} waiting' if waiting else ''}",
        f"mode       {corpus['mode']}: embeddings {corpus['embeddings']}, answers {corpus['answers']},"
        f" voice {corpus['voice']}{'' if corpus['voice_ready'] else ' (not ready yet)'}",
    ]
    leaving = [f"{one['what']} to {one['to']}" for one in corpus["leaves"] if one["to"]]
    calls = _in_calls(corpus)
    nothing = f"nothing leaves this machine{', but in calls through the server' if calls else ''}"
    lines.append(f"leaves     {', '.join(leaving) or nothing}")
    lines += [f"calls      {line}" for line in calls]
    if instance.run:
        lines += [f"data       {instance.run.data}", f"traces     {instance.run.traces}/"]
    for service in corpus["services"]:
        detail = f": {service['detail']}" if service.get("detail") else ""
        lines.append(f"service    {service['name']} {service['state']}{detail}")
    lines += [f"rejected   {file['path']}: {file['reason']}" for file in rejected]
    lines += [f"notice     {notice}" for notice in corpus["notices"]]
    return lines
