"""The OpenAPI document of the API, as JSON and as a page without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from web.api.routes import PREFIX
from web.pages.render import page

DOCUMENT = f"{PREFIX}/openapi.json"
_METHODS = ("get", "post", "put", "patch", "delete")

router = APIRouter(include_in_schema=False)


@router.get(DOCUMENT)
def document(request: Request) -> JSONResponse:
    """OpenAPI 3.1."""
    return JSONResponse(request.app.openapi())


@router.get(f"{PREFIX}/docs")
def docs(request: Request) -> Response:
    """Every route with its parameters, body and answers, and every model."""
    spec = request.app.openapi()
    return page(request, "api.html", spec=spec, routes=routes(spec), models=models(spec), document=DOCUMENT)


def routes(spec: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Operations by tag, in the order of the document."""
    out: dict[str, list[dict[str, Any]]] = {}
    for path, item in spec["paths"].items():
        for method in _METHODS:
            if method in item:
                operation = item[method]
                tag = operation.get("tags", ["other"])[-1]
                out.setdefault(tag, []).append(_route(method, path, operation))
    return out


def _route(method: str, path: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {})
    return {
        "method": method.upper(),
        "path": path,
        "anchor": operation["operationId"],
        "description": operation.get("description", ""),
        "parameters": [
            {
                "name": p["name"],
                "where": p["in"],
                "type": type_of(p["schema"]),
                "required": p.get("required", False),
                "description": p.get("description", p["schema"].get("description", "")),
            }
            for p in operation.get("parameters", ())
        ],
        "body": [type_of(content["schema"]) for content in body.values()],
        "answers": [
            {
                "status": status,
                "description": answer.get("description", ""),
                "types": [
                    f"{kind}: {type_of(content.get('schema', {}))}"
                    for kind, content in answer.get("content", {}).items()
                ],
            }
            for status, answer in operation["responses"].items()
        ],
    }


def models(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every model with its fields."""
    out = []
    for name, schema in sorted(spec.get("components", {}).get("schemas", {}).items()):
        fields = [
            {
                "name": field,
                "type": type_of(of),
                "required": field in schema.get("required", ()),
                "description": of.get("description", ""),
            }
            for field, of in schema.get("properties", {}).items()
        ]
        values = [str(value) for value in schema.get("enum", ())]
        out.append({"name": name, "description": schema.get("description", ""), "fields": fields, "values": values})
    return out


def type_of(schema: Mapping[str, Any]) -> str:
    """A schema in a few words: `integer, 1 to 500, default 50`, `list of JobRow`, `string or null`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        words = " or ".join(type_of(each) for each in schema["anyOf"])
    elif schema.get("type") == "array":
        words = f"list of {type_of(schema.get('items', {}))}"
    elif isinstance(schema.get("additionalProperties"), Mapping):
        words = f"map of {type_of(schema['additionalProperties'])}"
    else:
        words = str(schema.get("format") or schema.get("type") or "anything")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        words += f", {low:,} to {high:,}"
    default = schema.get("default")
    return words if default in (None, "") else f"{words}, default {default}"
