"""Documents: records that leave the program as JSON. pydantic writes, reads and describes them (docs/schemas)."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

Milli = Annotated[float, AfterValidator(lambda value: round(value, 3))]  # kept to three decimals
NotNone = Field(exclude_if=lambda value: value is None)  # a field that is omitted if it is None
TEXT = r"^[^\x00]*$"  # PostgreSQL text holds no NUL


class Document(BaseModel):
    """Base of all documents: frozen; unknown fields are refused. `model_validate` makes a document from a row or
    another record with the same fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)

    @classmethod
    def from_records(cls, *records: object, **own: Any) -> Self:
        """The document of these fields; every other field is the attribute of the first record that has it."""
        others = cls.model_fields.keys() - own.keys()
        return cls(**{name: getattr(r, name) for r in reversed(records) for name in others if hasattr(r, name)} | own)

    def to_json(self) -> dict[str, Any]:
        """The document as plain data."""
        return self.model_dump(mode="json", by_alias=True)


class Order(Document):
    """A person's request. Numbers are finite, because `nan` would be within any bounds."""

    model_config = ConfigDict(allow_inf_nan=False)


def text_field(most: int, description: str, **more: Any) -> Any:
    """A field of text, of at most so many characters."""
    return Field(max_length=most, pattern=TEXT, description=description, **more)


def complaint(error: ValidationError) -> tuple[str, str]:
    """The first field that is wrong (empty if the whole is), and what is wrong with it."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return str((*first["loc"], "")[0]), first["msg"].removeprefix("Value error, ")


def bounds(info: FieldInfo) -> dict[str, Any]:
    """Return `ge`, `le` and `max_length` of a field, where it has them."""
    kinds = ("ge", "le", "max_length")
    return {kind: getattr(each, kind) for each in info.metadata for kind in kinds if hasattr(each, kind)}
