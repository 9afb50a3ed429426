"""What the service makes of a signature."""

from collections.abc import Mapping
from typing import Any, Optional

from .answers import Answer, object_answer
from .resource import Resource


class Signatures(Resource):
    """What the service makes of a signature."""

    def check(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[str] = None,
    ) -> Answer[Any]:
        """Show what the service builds from a request, and whether your key signed it.

        Route: POST /signature-check
        Errors: bad_request
        """
        request = {
            "method": method,
            "target": target,
            "headers": dict(headers),
            "body": body,
        }
        return object_answer(
            self._transport.send("POST", "/signature-check", body=request)
        )
