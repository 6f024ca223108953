"""Measurements over real connections, uTP and the kernel's TCP: `flashcrowd utp`."""

from flashcrowd.utp.config import configuration
from flashcrowd.utp.order import Order
from flashcrowd.utp.place import PORT, Place
from flashcrowd.utp.sending import Sending
from flashcrowd.utp.serving import Serving
from flashcrowd.utp.stopping import attend
from flashcrowd.utp.voice import Voice

__all__ = ["PORT", "Order", "Place", "Sending", "Serving", "Voice", "attend", "configuration"]
