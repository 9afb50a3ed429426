"""The ends of terms."""

from typing import Optional

from .items import ExportableItems
from .records import Renewal, RenewalStatus
from .resource import Resource


class Renewals(Resource):
    """The ends of terms.

    ``domains.renew`` renews a name now, ``domains.set_will_renew`` decides about its
    next end.
    """

    def list(
        self, *, status: Optional[RenewalStatus] = None
    ) -> ExportableItems[Renewal]:
        """Return upcoming and recent renewals, by the end of the term.

        Route: GET /renewals
        Errors: bad_request
        """
        return ExportableItems(self._transport, "/renewals", {"status": status})
