"""Hosting accounts, their host names, and service packs."""

from collections.abc import Iterator
from typing import Optional, Union

from .answers import Answer, Page, PlacedAccount, placed_account
from .calls import Calls
from .errors import UnsuccessfulError
from .records import HostingAccount, HostingHistory, HostName, ServicePack
from .transport import path_of
from .waiting import OnStatus, wait_until_final


class HostingCalls(Calls):
    """The calls for hosting accounts."""

    def list_service_packs(self) -> Answer[list[ServicePack]]:
        """Return the service packs that are offered to you.

        Route: GET /servicepacks
        """
        return self._list("/servicepacks", {})

    def list_hosting_accounts(
        self, *, skip: Optional[int] = None, take: Optional[int] = None
    ) -> Page[HostingAccount]:
        """Return one page of accounts; failed ones are left out.

        Route: GET /hostingaccounts
        Errors: invalid_paging_request
        """
        return self._page("/hostingaccounts", {"skip": skip, "take": take})

    def all_hosting_accounts(self) -> Iterator[HostingAccount]:
        """Yield every account; failed ones are left out.

        Route: GET /hostingaccounts
        Errors: invalid_paging_request
        """
        return self._all("/hostingaccounts", {})

    def get_hosting_account(
        self, identifier: str, *, wait_seconds: Optional[int] = None
    ) -> Answer[HostingAccount]:
        """Return one account.

        The service holds the answer while it is ``Provisioning``, at most
        ``wait_seconds``.

        Route: GET /hostingaccounts/:identifier
        Errors: hostingaccount_invalid_identifier
        """
        return self._object(path_of("hostingaccounts", identifier), wait_seconds)

    def create_hosting_account(
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
        identifier = account if isinstance(account, str) else account.identifier
        answer = wait_until_final(
            lambda wait_seconds: self.get_hosting_account(
                identifier, wait_seconds=wait_seconds
            ),
            lambda status: status != "Provisioning",
            timeout_seconds=timeout_seconds,
            check_after_seconds=None
            if isinstance(account, str)
            else account.check_after_seconds,
            on_status=on_status,
            clock=self._transport.clock,
        )
        if answer.data.get("status") == "Failed":
            raise UnsuccessfulError(f"the account {identifier}", answer.data)
        return answer

    def set_hosting_password(
        self, identifier: str, password: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Set the FTP password. Within seconds, only the new one works.

        Route: PUT /hostingaccounts/:identifier/password
        Errors: bad_request, hostingaccount_invalid_identifier,
            hostingaccount_not_changeable
        """
        path = path_of("hostingaccounts", identifier, "password")
        return self._write("PUT", path, idempotency_key, {"password": password})

    def suspend_hosting_account(
        self,
        identifier: str,
        *,
        reason: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Answer[None]:
        """Suspend an account: within seconds nobody can log in and the site answers 503.

        The reason is one line of up to 200 characters; you and the operator read it.

        Route: PUT /hostingaccounts/:identifier/suspension
        Errors: bad_request, hostingaccount_invalid_identifier,
            hostingaccount_not_changeable
        """
        body = {"suspended": True, **({} if reason is None else {"reason": reason})}
        path = path_of("hostingaccounts", identifier, "suspension")
        return self._write("PUT", path, idempotency_key, body)

    def unsuspend_hosting_account(
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

    def delete_hosting_account(
        self, identifier: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Order the deletion of an account with its site.

        Route: DELETE /hostingaccounts/:identifier
        Errors: hostingaccount_invalid_identifier
        """
        path = path_of("hostingaccounts", identifier)
        return self._write("DELETE", path, idempotency_key)

    def get_hosting_history(self, identifier: str) -> Answer[HostingHistory]:
        """Return the newest 200 events of an account, and its next step.

        Route: GET /hostingaccounts/:identifier/history
        Errors: hostingaccount_invalid_identifier
        """
        return self._object(path_of("hostingaccounts", identifier, "history"))

    def list_host_names(self, identifier: str) -> Answer[list[HostName]]:
        """Return all host names of an account.

        Route: GET /hostingaccounts/:identifier/hosts
        Errors: hostingaccount_invalid_identifier
        """
        return self._list(path_of("hostingaccounts", identifier, "hosts"), {})

    def get_host_name(self, identifier: str, host_name: str) -> Answer[HostName]:
        """Return a host name, with the record to set and its status.

        Route: GET /hostingaccounts/:identifier/hosts/:host_name
        Errors: host_name_not_found, hostingaccount_invalid_identifier
        """
        return self._object(path_of("hostingaccounts", identifier, "hosts", host_name))

    def add_host_name(
        self, identifier: str, host_name: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Add a host name, or check it again at once.

        Route: PUT /hostingaccounts/:identifier/hosts/:host_name
        Errors: bad_request, host_name_not_available, hostingaccount_invalid_identifier
        """
        path = path_of("hostingaccounts", identifier, "hosts", host_name)
        return self._write("PUT", path, idempotency_key)

    def remove_host_name(
        self, identifier: str, host_name: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Remove a host name; the site stops answering there within seconds.

        Route: DELETE /hostingaccounts/:identifier/hosts/:host_name
        Errors: host_name_not_found, hostingaccount_invalid_identifier
        """
        path = path_of("hostingaccounts", identifier, "hosts", host_name)
        return self._write("DELETE", path, idempotency_key)
