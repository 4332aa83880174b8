"""What every table is made with: names of constraints, columns that many have."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, DateTime, ForeignKey, MetaData, Uuid

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: type) -> CheckConstraint:
    """The column has one of an enumeration's values."""
    listed = ", ".join(f"'{v.value}'" for v in values)  # type: ignore[attr-defined]
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def job_column() -> Column[object]:
    """Whose row it is; with the job it goes."""
    return Column("job", Uuid, ForeignKey("job.id", ondelete="CASCADE"), nullable=False)


def fenced_job_column() -> Column[object]:
    """The same of rows that come by the hundred thousand, and only in the transaction that makes the job or behind the fence of one of
    its tasks, whose row is held: a foreign key would look for the job once more with each. Deleting the job deletes them (sql.deletion)."""
    return Column("job", Uuid, nullable=False)


def time_column(name: str, *, nullable: bool = True) -> Column[object]:
    """A moment by the database's clock."""
    return Column(name, DateTime(timezone=True), nullable=nullable)
