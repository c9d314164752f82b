"""Docker's health check: exit code 0 when the service on a port of this container is ready, else 1, and what it says.

It is a script of its own, run by ``python -IS``, since a check every few seconds should cost no more than a socket.
"""

import socket
import sys

with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=4) as connection:
    connection.sendall(b"GET /health/ready HTTP/1.0\r\nHost: localhost\r\n\r\n")
    head, _, body = b"".join(iter(lambda: connection.recv(65_536), b"")).partition(b"\r\n\r\n")
print(body.decode())
sys.exit(0 if head.split(b" ", 2)[1] == b"200" else 1)
