"""Who is calling."""

from .answers import Answer
from .records import Account
from .resource import Resource


class OwnAccount(Resource):
    """Who is calling."""

    def get(self) -> Answer[Account]:
        """Return your account, its key, its limits, and the suffixes on offer.

        Route: GET /account
        """
        return self._read("/account")
