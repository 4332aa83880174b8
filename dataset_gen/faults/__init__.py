"""Kinds of faults, each with the exceptions that it must cause: builders, names and sizes.

The truth of a builder states what is expected of a complete reader: a code, or none if the limits of the reader make
the file harmless."""

from __future__ import annotations

from collections.abc import Callable

from dataset_gen.faults import documents, mail
from dataset_gen.faults.mail import HOSTILE_NAMES
from dataset_gen.formats import encrypted as encrypted_office
from dataset_gen.formats import pdf
from dataset_gen.made import Made, Order, leaf

__all__ = ["ATTACHABLE", "BUILDERS", "FILES", "HOSTILE_NAMES"]


def zero_bytes(_order: Order) -> Made:
    """Build an empty file; its size makes the exception."""
    return leaf(b"", "inode/x-empty").spoiled("zero_bytes")


# kind → builder, extension of its file name, and its bytes, about
_KINDS: dict[str, tuple[Callable[[Order], Made], str, int]] = {
    "truncated_zip": (mail.truncated_zip, "zip", 27_000),
    "corrupt_docx": (documents.corrupt_docx, "docx", 5_000),
    "encrypted_zip": (mail.encrypted_zip, "zip", 2_500),
    "encrypted_pdf": (pdf.build_encrypted, "pdf", 9_000),
    "zip_bomb": (documents.zip_bomb, "zip", 203_000),
    "deep_nesting": (documents.deep_nesting, "zip", 10_000),
    "hostile_names": (mail.hostile_names, "zip", 4_500),
    "zero_bytes": (zero_bytes, "txt", 0),
    # cut
    "truncated_docx": (documents.truncated_docx, "docx", 2_500),
    "truncated_pdf": (documents.truncated_pdf, "pdf", 4_600),
    "truncated_jpg": (documents.truncated_jpg, "jpg", 12_000),
    "truncated_eml": (mail.truncated_eml, "eml", 10_000),
    # bits flipped
    "flipped_zip": (mail.flipped_zip, "zip", 8_000),
    "flipped_pdf": (documents.flipped_pdf, "pdf", 4_600),
    "flipped_xlsx": (documents.flipped_xlsx, "xlsx", 6_000),
    # under a password
    "encrypted_7z": (mail.encrypted_7z, "7z", 1_500),
    "encrypted_docx": (encrypted_office.encrypted_docx, "docx", 9_000),
    "encrypted_xlsx": (encrypted_office.encrypted_xlsx, "xlsx", 9_000),
    "encrypted_doc": (encrypted_office.encrypted_doc, "doc", 9_000),
    "password_pst": (mail.password_pst, "pst", 271_000),
    # under another format's name
    "docx_as_pdf": (documents.docx_as_pdf, "pdf", 6_000),
    "jpg_as_txt": (documents.jpg_as_txt, "txt", 30_000),
    "exe_as_doc": (documents.exe_as_doc, "doc", 20_000),
    # bombs
    "gzip_bomb": (documents.gzip_bomb, "gz", 200_000),
    "nested_bomb": (documents.nested_bomb, "zip", 2_500),
    # broken mail
    "open_multipart": (mail.open_multipart, "eml", 4_500),
    "broken_base64": (mail.broken_base64, "eml", 5_500),
    "late_damage": (mail.late_damage, "eml", 5_500),
    "headless_eml": (mail.headless_eml, "eml", 2_000),
    # missing parts
    "docx_without_text": (documents.docx_without_text, "docx", 1_800),
    "partial_message": (mail.partial_message, "eml", 3_500),
    "split_zip": (mail.split_zip, "zip", 2_500),
    "split_7z": (mail.split_7z, "7z.001", 4_400),
    # parser-killers
    "deep_html": (documents.deep_html, "html", 276_000),
    "wide_html": (documents.wide_html, "html", 195_000),
    "deep_xml": (documents.deep_xml, "xml", 175_000),
    "entity_xml": (documents.entity_xml, "xml", 800),
    "entity_xlsx": (documents.entity_xlsx, "xlsx", 2_500),
    "looped_pdf": (documents.looped_pdf, "pdf", 1_300),
    "nested_multiparts": (documents.nested_multiparts, "eml", 26_000),
    "padded_base64": (mail.padded_base64, "eml", 140_000),
}
BUILDERS: dict[str, Callable[[Order], Made]] = {kind: builder for kind, (builder, _, _) in _KINDS.items()}
FILES = {kind: (extension, size) for kind, (_, extension, size) in _KINDS.items()}
# Faults whose exceptions do not depend on the place, and that people attach.
ATTACHABLE = (
    "corrupt_docx", "encrypted_zip", "encrypted_pdf", "truncated_zip", "zero_bytes", "truncated_docx",
    "truncated_pdf", "truncated_jpg", "flipped_zip", "flipped_pdf", "flipped_xlsx", "encrypted_7z",
    "encrypted_docx", "encrypted_xlsx", "docx_as_pdf", "jpg_as_txt", "docx_without_text", "split_zip", "split_7z",
    "entity_xml", "entity_xlsx", "looped_pdf",
)  # fmt: skip
