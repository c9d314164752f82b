"""The trace page of the embedded run: spans come in by OTLP, and a question's way is looked at in a browser.

::

    services --POST /v1/traces (protobuf)--> receiver --> store (bounded, in memory) --> GET /trace/{id}, GET /
"""
