# In the place of the official redis image: Debian's Redis 8.
FROM talkdown-stand-in/debian
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server redis-tools >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
 && install -d -o redis -g redis /data
VOLUME /data
WORKDIR /data
# Like the official one it is meant for a network of containers, so that strangers' addresses are not refused.
ENTRYPOINT ["/bin/sh", "-euc", "exec \"$@\" --protected-mode no --bind '* -::*'", "entrypoint"]
CMD ["redis-server"]
