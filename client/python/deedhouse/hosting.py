"""Hosting accounts, their host names, and service packs."""

from typing import Optional, Union

from .answers import Answer, PlacedAccount, placed_account
from .errors import UnsuccessfulError
from .items import Items
from .records import HostingAccount, HostingHistory, HostName, ServicePack
from .resource import Resource
from .transport import Transport, path_of
from .waiting import OnStatus, wait_until_final


class HostNames(Resource):
    """Host names of an account's site, in addition to the platform's own."""

    def list(self, identifier: str) -> Items[HostName]:
        """Return all host names of an account.

        Route: GET /hostingaccounts/:identifier/hosts
        Errors: hostingaccount_invalid_identifier
        """
        path = path_of("hostingaccounts", identifier, "hosts")
        return Items(self._transport, path, is_whole=True)

    def get(self, identifier: str, host_name: str) -> Answer[HostName]:
        """Return a host name, with the record to set and its status.

        Route: GET /hostingaccounts/:identifier/hosts/:host_name
        Errors: host_name_not_found, hostingaccount_invalid_identifier
        """
        return self._read(path_of("hostingaccounts", identifier, "hosts", host_name))

    def add(
        self, identifier: str, host_name: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Add a host name, or check it again at once.

        Route: PUT /hostingaccounts/:identifier/hosts/:host_name
        Errors: bad_request, host_name_not_available, hostingaccount_invalid_identifier
        """
        path = path_of("hostingaccounts", identifier, "hosts", host_name)
        return self._write("PUT", path, idempotency_key)

    def remove(
        self, identifier: str, host_name: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Remove a host name; the site stops answering there within seconds.

        Route: DELETE /hostingaccounts/:identifier/hosts/:host_name
        Errors: host_name_not_found, hostingaccount_invalid_identifier
        """
        path = path_of("hostingaccounts", identifier, "hosts", host_name)
        return self._write("DELETE", path, idempotency_key)


class Packs(Resource):
    """Service packs."""

    def list(self) -> Items[ServicePack]:
        """Return the service packs that are offered to you.

        Route: GET /servicepacks
        """
        return Items(self._transport, "/servicepacks", is_whole=True)


class Hosting(Resource):
    """Hosting accounts."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.host_names = HostNames(transport)
        self.packs = Packs(transport)

    def list(self) -> Items[HostingAccount]:
        """Return every account; failed ones are left out.

        Route: GET /hostingaccounts
        """
        return Items(self._transport, "/hostingaccounts")

    def get(
        self, identifier: str, *, wait_seconds: Optional[int] = None
    ) -> Answer[HostingAccount]:
        """Return one account.

        The service holds the answer while it is ``Provisioning``, at most
        ``wait_seconds``.

        Route: GET /hostingaccounts/:identifier
        Errors: hostingaccount_invalid_identifier
        """
        return self._read(path_of("hostingaccounts", identifier), wait_seconds)

    def create(
        self,
        identifier: str,
        *,
        service_pack_id: str,
        password: str,
        idempotency_key: Optional[str] = None,
    ) -> PlacedAccount:
        """Order an account. Its identifier is a host name.

        The password is for FTP and has 8 to 64 characters.

        Route: POST /hostingaccounts
        Errors: bad_request, hosting_already_exist, invalid_service_pack,
            missing_reseller, missing_reseller_profile
        """
        body = {
            "servicepack_id": service_pack_id,
            "identifier": identifier,
            "password": password,
        }
        reply = self._transport.send(
            "POST", "/hostingaccounts", body=body, idempotency_key=idempotency_key
        )
        return placed_account(reply)

    def provisioned(
        self,
        account: Union[PlacedAccount, str],
        *,
        timeout_seconds: float = 600,
        on_status: Optional[OnStatus] = None,
    ) -> Answer[HostingAccount]:
        """Wait until an account, or the one with this identifier, is provisioned.

        Raise ``UnsuccessfulError`` when it ends as ``Failed``, and ``WaitTimeoutError``
        when the time runs out.

        Route: GET /hostingaccounts/:identifier
        Errors: hostingaccount_invalid_identifier
        """
        answer = self.wait(
            account, timeout_seconds=timeout_seconds, on_status=on_status
        )
        if answer.data.get("status") == "Failed":
            raise UnsuccessfulError(
                f"the account {answer.data['identifier']}", answer.data
            )
        return answer

    def wait(
        self,
        account: Union[PlacedAccount, str],
        *,
        timeout_seconds: float = 600,
        on_status: Optional[OnStatus] = None,
    ) -> Answer[HostingAccount]:
        """Wait as :meth:`provisioned`, and return with every end: look at the status.

        Route: GET /hostingaccounts/:identifier
        Errors: hostingaccount_invalid_identifier
        """
        identifier = account if isinstance(account, str) else account.identifier
        return wait_until_final(
            lambda wait_seconds: self.get(identifier, wait_seconds=wait_seconds),
            lambda status: status != "Provisioning",
            timeout_seconds=timeout_seconds,
            check_after_seconds=None
            if isinstance(account, str)
            else account.check_after_seconds,
            on_status=on_status,
            clock=self._transport.clock,
        )

    def get_history(self, identifier: str) -> Answer[HostingHistory]:
        """Return the newest 200 events of an account, and its next step.

        Route: GET /hostingaccounts/:identifier/history
        Errors: hostingaccount_invalid_identifier
        """
        return self._read(path_of("hostingaccounts", identifier, "history"))

    def set_password(
        self, identifier: str, password: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Set the FTP password. Within seconds, only the new one works.

        Route: PUT /hostingaccounts/:identifier/password
        Errors: bad_request, hostingaccount_invalid_identifier,
            hostingaccount_not_changeable
        """
        path = path_of("hostingaccounts", identifier, "password")
        return self._write("PUT", path, idempotency_key, {"password": password})

    def suspend(
        self,
        identifier: str,
        *,
        reason: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Answer[None]:
        """Suspend an account: nobody can log in and the site answers 503.

        It takes effect within seconds. The reason is one line of up to 200 characters;
        you and the operator read it.

        Route: PUT /hostingaccounts/:identifier/suspension
        Errors: bad_request, hostingaccount_invalid_identifier,
            hostingaccount_not_changeable
        """
        body = {"suspended": True, "reason": reason}
        path = path_of("hostingaccounts", identifier, "suspension")
        return self._write("PUT", path, idempotency_key, body)

    def unsuspend(
        self, identifier: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Lift your suspension of an account.

        It stays suspended while the operator's holds. When only that is left, the call
        raises ``hostingaccount_suspended_by_operator``.

        Route: PUT /hostingaccounts/:identifier/suspension
        Errors: bad_request, hostingaccount_invalid_identifier,
            hostingaccount_not_changeable, hostingaccount_suspended_by_operator
        """
        path = path_of("hostingaccounts", identifier, "suspension")
        return self._write("PUT", path, idempotency_key, {"suspended": False})

    def delete(
        self, identifier: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Order the deletion of an account with its site.

        Route: DELETE /hostingaccounts/:identifier
        Errors: hostingaccount_invalid_identifier
        """
        path = path_of("hostingaccounts", identifier)
        return self._write("DELETE", path, idempotency_key)
