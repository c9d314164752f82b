# In the place of the official python image: Debian, its Python, and the certificates that this machine trusts.
FROM talkdown-stand-in/debian
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
