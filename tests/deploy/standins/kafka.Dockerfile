# In the place of apache/kafka: the same Kafka on Debian's Java.
FROM talkdown-stand-in/debian
RUN mkdir -p /usr/share/man/man1 && apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
 && groupadd --gid 1000 appuser \
 && useradd --uid 1000 --gid 1000 --no-create-home appuser \
 && install -d -o appuser -g appuser /var/lib/kafka /var/lib/kafka/data /opt/kafka/config
COPY libs /opt/kafka/libs
COPY --chmod=755 kafka-run.sh /etc/kafka/docker/run
VOLUME /var/lib/kafka/data
USER appuser
CMD ["/etc/kafka/docker/run"]
