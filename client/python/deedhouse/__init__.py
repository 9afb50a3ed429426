"""Client library for the Deedhouse reseller API."""

from .answers import (
    Answer,
    EventPage,
    Page,
    PlacedAccount,
    PlacedChange,
    PlacedOrder,
    RateLimit,
)
from .client import VERSION, Client
from .errors import (
    UNEXPECTED_RESPONSE,
    ApiError,
    DeedhouseError,
    FieldError,
    NoAnswerError,
    UnsuccessfulError,
    WaitTimeoutError,
)
from .items import ExportableItems, Items
from .retry import RetryNotice

__version__ = VERSION

__all__ = [
    "UNEXPECTED_RESPONSE",
    "Answer",
    "ApiError",
    "Client",
    "DeedhouseError",
    "EventPage",
    "ExportableItems",
    "FieldError",
    "Items",
    "NoAnswerError",
    "Page",
    "PlacedAccount",
    "PlacedChange",
    "PlacedOrder",
    "RateLimit",
    "RetryNotice",
    "UnsuccessfulError",
    "WaitTimeoutError",
]
