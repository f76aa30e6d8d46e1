"""From a location to its store. A server's driver is imported only when its URL asks for it."""

from __future__ import annotations

from queuectl.errors import StoreAway, StoreMissing
from queuectl.paths import is_made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.address import Address
    from queuectl.paths import Location
    from queuectl.store.api import HealthStore, Store
    from queuectl.store.mysql import MysqlDriver
    from queuectl.store.postgres import PostgresDriver


def open_store(location: Location, *, create: bool = True, busy_ms: int = 10_000) -> Store:
    if location.shared:
        return _open_on_server(location, create=create, busy_ms=busy_ms)
    from queuectl.store.sqlite import SqliteStore

    return SqliteStore(location, create=create, busy_ms=busy_ms)


def open_to_look(location: Location) -> tuple[Store, bool]:
    """As `open_store`, but where there is none yet none is made: an empty one stands in.

    Also whether it is a real one.
    """
    if location.shared:
        try:
            return open_store(location, create=False), True
        except StoreMissing:
            pass
    elif is_made(location.file):
        return open_store(location), True
    from queuectl.store.nothing import EmptyStore

    return EmptyStore(location), False


def _open_on_server(location: Location, *, create: bool, busy_ms: int) -> Store:
    from queuectl.address import POSTGRES, Address
    from queuectl.store.server import PostgresStore, ServerStore

    address = Address(location.url)
    if address.engine == POSTGRES:
        return PostgresStore(location, _postgres_driver(address), create=create, busy_ms=busy_ms)
    return ServerStore(location, _mysql_driver(address), create=create, busy_ms=busy_ms)


def look_at(location: Location) -> HealthStore:
    """The store, only to be looked at: nothing is made, brought up to date or changed."""
    if not location.shared:
        from queuectl.store.health_sqlite import SqlitePatient

        return SqlitePatient(location)
    from queuectl.address import POSTGRES, Address

    address = Address(location.url)
    if address.engine == POSTGRES:
        return _look_at_postgres(location, address)
    driver = _mysql_driver(address)  # first: it says which package is missing
    from queuectl.store.health_mysql import MysqlPatient

    return MysqlPatient(location, driver)


def _look_at_postgres(location: Location, address: Address) -> HealthStore:
    driver = _postgres_driver(address)
    from queuectl.store.health_postgres import PostgresPatient

    try:
        return PostgresPatient(location, driver)
    except StoreAway as error:
        # libpq turns away from a server that takes no writes; to see why, go to it all the same.
        if "read-only" not in error.message and "standby" not in error.message:
            raise
        address.options["target_session_attrs"] = "any"
        return PostgresPatient(location, _postgres_driver(address))


def _postgres_driver(address: Address) -> PostgresDriver:
    try:
        from queuectl.store.postgres import PostgresDriver
    except ImportError as error:
        raise _without_driver(error, "PostgreSQL", "postgres") from error
    return PostgresDriver(address)


def _mysql_driver(address: Address) -> MysqlDriver:
    try:
        from queuectl.store.mysql import MysqlDriver
    except ImportError as error:
        raise _without_driver(error, "MySQL", "mysql") from error
    return MysqlDriver(address)


def _without_driver(error: ImportError, engine: str, extra: str) -> Exception:
    from queuectl.store.server import missing_extra

    return error if "queuectl" in str(error.name) else missing_extra(engine, extra)
