# Several runs of pytest and of node --test in one line like the one that pytest ends with:
#   == 2 failed, 95 passed, 1 skipped in 3.21s (0:00:03) ==
/^=+ .* in [0-9.]+s.* =+$/ {
  for (at = 2; at < NF; at++)
    if ($(at + 1) ~ /^(failed|passed|skipped|deselected|errors?|warnings?)/) {
      kind = $(at + 1); sub(/,$/, "", kind); sub(/s$/, "", kind); count[kind] += $at
    } else if ($at == "in") seconds += $(at + 1)
}
/^[^ ]+ (pass|fail) [0-9]+$/ { count[$2 "ed"] += $3 }
/^[^ ]+ duration_ms [0-9.]+$/ { seconds += $3 / 1000 }
END {
  split("failed passed skipped error", kinds, " ")
  for (at = 1; at <= 4; at++)
    if (count[kinds[at]]) line = line (line ? ", " : "") count[kinds[at]] " " kinds[at]
  printf "=========== %s in %.2fs ===========\n", line ? line : "no tests ran", seconds
}
