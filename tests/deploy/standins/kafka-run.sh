#!/usr/bin/env bash
# What the official image does with the variables that the compose file sets: KAFKA_A_B is the property a.b, with __ for _
# and ___ for -. The storage is formatted once, and then the broker runs.
set -euo pipefail
properties=/opt/kafka/config/server.properties
: > "$properties"
while IFS='=' read -r name value; do
  case "$name" in
    KAFKA_HEAP_OPTS | KAFKA_OPTS | KAFKA_JVM_PERFORMANCE_OPTS | KAFKA_LOG4J_* | KAFKA_VERSION) continue ;;
    KAFKA_*)
      key=${name#KAFKA_}
      key=${key,,}
      key=${key//___/$'\x01'}
      key=${key//__/$'\x02'}
      key=${key//_/.}
      key=${key//$'\x01'/-}
      key=${key//$'\x02'/_}
      printf '%s=%s\n' "$key" "$value" >> "$properties"
      ;;
  esac
done < <(env)
read -ra heap <<< "${KAFKA_HEAP_OPTS:--Xms256m -Xmx512m}"
java=(java "${heap[@]}" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '/opt/kafka/libs/*')
"${java[@]}" kafka.tools.StorageTool format --cluster-id "$CLUSTER_ID" --config "$properties" --ignore-formatted > /dev/null
exec "${java[@]}" kafka.Kafka "$properties"
