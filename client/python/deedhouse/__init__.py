"""Client library for the Deedhouse reseller API."""

from .answers import Answer, EventPage, Page, PlacedAccount, PlacedOrder, RateLimit
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
from .retry import RetryNotice

__version__ = VERSION

__all__ = [
    "UNEXPECTED_RESPONSE",
    "Answer",
    "ApiError",
    "Client",
    "DeedhouseError",
    "EventPage",
    "FieldError",
    "NoAnswerError",
    "Page",
    "PlacedAccount",
    "PlacedOrder",
    "RateLimit",
    "RetryNotice",
    "UnsuccessfulError",
    "WaitTimeoutError",
]
