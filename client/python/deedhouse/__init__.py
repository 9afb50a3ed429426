"""Client library for the Deedhouse reseller API."""

from .answers import Answer, Page, PlacedAccount, PlacedOrder, RateLimit
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
