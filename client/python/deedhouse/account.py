"""The call about who is calling."""

from .answers import Answer
from .calls import Calls
from .records import Account


class AccountCalls(Calls):
    """The call about who is calling."""

    def get_account(self) -> Answer[Account]:
        """Return your account, its key, its limits, and the suffixes on offer.

        Route: GET /account
        """
        return self._object("/account")
