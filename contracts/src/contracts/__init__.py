"""What Talkdown's services say to each other: events, HTTP bodies, stream frames, voice signalling."""
