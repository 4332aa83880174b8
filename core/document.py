"""Documents: records that leave the program as JSON. pydantic writes, reads and describes them (docs/schemas)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

Milli = Annotated[float, AfterValidator(lambda value: round(value, 3))]  # kept to three decimals
NotNone = Field(exclude_if=lambda value: value is None)  # of a field that is left out where there is nothing to say
TEXT = r"^[^\x00]*$"  # PostgreSQL text holds no NUL


class Document(BaseModel):
    """Base of all of them: frozen; what is not known is refused, not passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return self.model_dump(mode="json", by_alias=True)


def bounds(info: FieldInfo) -> dict[str, Any]:
    """`ge`, `le` and `max_length` of a field, where it has them."""
    kinds = ("ge", "le", "max_length")
    return {kind: getattr(each, kind) for each in info.metadata for kind in kinds if hasattr(each, kind)}
