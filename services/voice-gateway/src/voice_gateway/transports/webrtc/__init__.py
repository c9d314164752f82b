"""A session on a peer connection: sound on the audio track, events on the data channel ``oai-events``."""

MAX_SDP_BYTES = 65_536
