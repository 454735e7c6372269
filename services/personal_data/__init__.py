"""People's data: the inventory of columns, and the archive of an export."""

from .archive import Archive, transcript
from .inventory import ANONYMISE, CASCADE, INVENTORY, KEEP, of_people, reviewed

__all__ = (
    "ANONYMISE",
    "CASCADE",
    "INVENTORY",
    "KEEP",
    "Archive",
    "of_people",
    "reviewed",
    "transcript",
)
