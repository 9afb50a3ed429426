"""Zones of domain names, and their records."""

from typing import Any, Optional

from .answers import Answer, PlacedChange, empty_answer, placed_change, text_answer
from .items import Items
from .records import RecordSet, RecordSetInput, Zone, ZoneChange
from .resource import Resource
from .transport import Body, Transport, path_of, query_of


class Records(Resource):
    """The records of a zone, in sets of one name and type.

    A ``subname`` is relative to the domain name; ``@`` is the name itself. With
    ``if_change_id``, a call writes only if that change is the newest, and otherwise
    raises ``zone_changed``.
    """

    def list(
        self,
        domain_name: str,
        *,
        type: Optional[str] = None,
        subname: Optional[str] = None,
    ) -> Items[RecordSet]:
        """Return the sets of a zone, by name and type.

        Route: GET /domains/:domain_name/records
        Errors: domain_not_found, domain_not_valid, zone_not_found
        """
        path = path_of("domains", domain_name, "records")
        return Items(self._transport, path, {"type": type, "subname": subname})

    def get(self, domain_name: str, subname: str, type: str) -> Answer[RecordSet]:
        """Return one set.

        Route: GET /domains/:domain_name/records/:subname/:record_type
        Errors: domain_not_found, domain_not_valid, record_not_found, zone_not_found
        """
        return self._read(path_of("domains", domain_name, "records", subname, type))

    def set(
        self,
        domain_name: str,
        set: RecordSetInput,
        *,
        if_change_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedChange:
        """Set the records of one name and type.

        Route: PUT /domains/:domain_name/records/:subname/:record_type
        Errors: bad_request, domain_not_found, domain_not_valid, zone_changed,
            zone_leaving, zone_not_found
        """
        path = path_of("domains", domain_name, "records", set["subname"], set["type"])
        body = {"ttl": set.get("ttl"), "records": set["records"]}
        return self._place("PUT", path, if_change_id, idempotency_key, body)

    def remove(
        self,
        domain_name: str,
        subname: str,
        type: str,
        *,
        if_change_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedChange:
        """Remove the records of one name and type.

        Route: DELETE /domains/:domain_name/records/:subname/:record_type
        Errors: bad_request, domain_not_found, domain_not_valid, record_managed,
            record_not_found, zone_changed, zone_leaving, zone_not_found
        """
        path = path_of("domains", domain_name, "records", subname, type)
        return self._place("DELETE", path, if_change_id, idempotency_key)

    def change(
        self,
        domain_name: str,
        sets: "list[RecordSetInput]",
        *,
        if_change_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedChange:
        """Change several sets at once, all or nothing.

        Those without records are removed.

        Route: PATCH /domains/:domain_name/records
        Errors: bad_request, domain_not_found, domain_not_valid, zone_changed,
            zone_leaving, zone_not_found
        """
        path = path_of("domains", domain_name, "records")
        return self._place("PATCH", path, if_change_id, idempotency_key, [*sets])

    def replace(
        self,
        domain_name: str,
        sets: "list[RecordSetInput]",
        *,
        if_change_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedChange:
        """Replace all records: those that are not given are removed.

        Route: PUT /domains/:domain_name/records
        Errors: bad_request, domain_not_found, domain_not_valid, zone_changed,
            zone_leaving, zone_not_found
        """
        path = path_of("domains", domain_name, "records")
        return self._place("PUT", path, if_change_id, idempotency_key, [*sets])

    def import_file(
        self,
        domain_name: str,
        zone_file: str,
        *,
        if_change_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedChange:
        """Replace all records by those of a zone file (RFC 1035).

        Route: PUT /domains/:domain_name/records
        Errors: bad_request, domain_not_found, domain_not_valid, zone_changed,
            zone_leaving, zone_not_found
        """
        path = path_of("domains", domain_name, "records")
        return self._place(
            "PUT", path, if_change_id, idempotency_key, zone_file=zone_file
        )

    def export_file(self, domain_name: str) -> Answer[str]:
        """Return the whole zone as a zone file.

        Route: GET /domains/:domain_name/records
        Errors: domain_not_found, domain_not_valid, zone_not_found
        """
        path = path_of("domains", domain_name, "records")
        return text_answer(self._transport.send("GET", path, zone_file=""))

    def _place(
        self,
        method: str,
        path: str,
        if_change_id: Optional[str],
        idempotency_key: Optional[str],
        body: Optional[Body] = None,
        zone_file: Optional[str] = None,
    ) -> PlacedChange:
        return placed_change(
            self._transport.send(
                method,
                path,
                body=body,
                zone_file=zone_file,
                if_match=None if if_change_id is None else f'"{if_change_id}"',
                idempotency_key=idempotency_key,
            )
        )


class Zones(Resource):
    """The zones of domain names: what our name servers answer about them."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.records = Records(transport)

    def get(self, domain_name: str) -> Answer[Zone]:
        """Return a zone: its state, and what each name server has.

        Route: GET /domains/:domain_name/dns
        Errors: domain_not_found, domain_not_valid, zone_not_found
        """
        return self._read(path_of("domains", domain_name, "dns"))

    def create(
        self,
        domain_name: str,
        *,
        sets: "Optional[list[RecordSetInput]]" = None,
        delegate: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedChange:
        """Make a zone for a name, with its first records.

        ``delegate`` orders our name servers for the name, once they serve the zone.

        Route: PUT /domains/:domain_name/dns
        Errors: bad_request, dns_not_offered, domain_has_ds, domain_not_found,
            domain_not_valid, zone_changed, zone_exists, zone_leaving, zone_not_found
        """
        body = {"sets": sets, "delegate": delegate}
        return self._put(domain_name, body, idempotency_key)

    def delegate(
        self, domain_name: str, *, idempotency_key: Optional[str] = None
    ) -> PlacedChange:
        """Order our name servers for a name that has a zone, once they serve it.

        Route: PUT /domains/:domain_name/dns
        Errors: dns_not_offered, domain_has_ds, domain_not_found, domain_not_valid,
            zone_leaving
        """
        return self._put(domain_name, {"delegate": True}, idempotency_key)

    def restore(
        self, domain_name: str, *, idempotency_key: Optional[str] = None
    ) -> PlacedChange:
        """Bring back the zone that was deleted in the last 30 days.

        Route: PUT /domains/:domain_name/dns
        Errors: dns_not_offered, domain_not_found, domain_not_valid, zone_exists,
            zone_not_found
        """
        return self._put(domain_name, {"restore": True}, idempotency_key)

    def delete(
        self,
        domain_name: str,
        *,
        is_forced: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Answer[None]:
        """Delete a zone with all records.

        ``is_forced``: also while the registry shows our name servers.

        Route: DELETE /domains/:domain_name/dns
        Errors: bad_request, domain_not_found, domain_not_valid, zone_changed,
            zone_delegated, zone_leaving, zone_not_found
        """
        query = query_of({"confirm": domain_name, "force": is_forced or None})
        path = path_of("domains", domain_name, "dns")
        return empty_answer(
            self._transport.send(
                "DELETE", path, query=query, idempotency_key=idempotency_key
            )
        )

    def changes(self, domain_name: str) -> Items[ZoneChange]:
        """Return the changes of a zone, the newest first.

        Route: GET /domains/:domain_name/dns/changes
        Errors: domain_not_found, domain_not_valid, zone_not_found
        """
        path = path_of("domains", domain_name, "dns", "changes")
        return Items(self._transport, path)

    def get_change(
        self, domain_name: str, change_id: str, *, wait_seconds: Optional[int] = None
    ) -> Answer[ZoneChange]:
        """Return a change of a zone.

        The service holds the answer until the name servers have it, at most
        ``wait_seconds``.

        Route: GET /domains/:domain_name/dns/changes/:change_id
        Errors: domain_not_found, domain_not_valid, zone_change_not_found,
            zone_not_found
        """
        path = path_of("domains", domain_name, "dns", "changes", change_id)
        return self._read(path, wait_seconds)

    def _put(
        self, domain_name: str, body: "dict[str, Any]", idempotency_key: Optional[str]
    ) -> PlacedChange:
        path = path_of("domains", domain_name, "dns")
        return placed_change(
            self._transport.send(
                "PUT", path, body=body, idempotency_key=idempotency_key
            )
        )
