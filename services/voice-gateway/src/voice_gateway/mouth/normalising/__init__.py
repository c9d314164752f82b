"""Text as it is read aloud: numbers, dates, units, names of files and the rest written out in words."""

from voice_gateway.mouth.normalising.scanning import Part, normalised

__all__ = ["Part", "normalised"]
