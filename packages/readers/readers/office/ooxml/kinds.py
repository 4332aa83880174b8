"""Use of each kind of part of a package (ECMA-376 part 1, 11.3, 12.3, 13.3, 14.2, 15.2; [MS-OFFMACRO2], [MS-XLSX],
[MS-DOCX], [MS-PPTX], [MS-VSDX]): read, a child, or omitted. A kind is the last word of a content type in lower case.

In many parts only some attributes and elements contain words: `WORDS` lists them, and readers.office.ooxml.parts reads
them."""

from __future__ import annotations

from collections.abc import Mapping

TEXT = ""  # in place of an attribute: the element's character data
ALL = ("*",)  # in place of attributes: all character data below the element
Words = Mapping[str, tuple[str, ...]]  # by element, the attributes that contain words

# Document properties in the XML of Office 2003, with their keys.
KEYS_OF_2003 = {
    "Title": "title",
    "Author": "author",
    "Subject": "doc_subject",
    "Description": "description",
    "Keywords": "keywords",
    "LastAuthor": "last_author",
    "Created": "created",
    "LastSaved": "modified",
    "Company": "company",
}
# Read by a reader of their own (text, sheet, xlsb, vml, numbering).
READ = frozenset(
    (
        *("main", "header", "footer", "footnotes", "endnotes", "comments", "numbering", "glossary", "drawing"),
        *("chartshapes", "diagramdata", "chart", "chartex", "slide", "notesslide", "slidemaster", "slidelayout"),
        *("notesmaster", "handoutmaster", "worksheet", "chartsheet", "dialogsheet", "macrosheet", "intlmacrosheet"),
        *("sharedstrings", "styles", "threadedcomments", "person", "commentauthors", "authors", "page"),
        *("vmldrawing", "pivotcachedefinition", "pivotcacherecords", "core-properties", "extended-properties"),
        *("custom-properties", "relationships", "[content_types]"),
    )
)
CHILDREN = frozenset(
    ("vbaproject", "model+data", "oleobject", "package", "image", "audio", "video", "thumbnail", "afchunk")
)
# Words in parts that contain nothing else to read, and in main parts in addition to READ.
WORDS: dict[str, Words] = {
    "settings": {
        "docVar": ("name", "val"),
        **dict.fromkeys(("query", "connectString", "udl", "mailSubject", "addressFieldName", "mappedName"), ("val",)),
    },
    "people": {"person": ("author",)},
    "documenttasks": {"SetTitle": ("title",), "Attribution": ("userName",), "Assign": ("userName",)},
    "connections": {
        "connection": ("name", "description", "sourceFile", "odcFile"),
        "dbPr": ("connection", "command", "serverCommand"),
        "oledbPr": ("connection", "command"),
        "dbCommand": ("text",),
        "dbTable": ("name",),
        "dataFeedPr": ("connection",),
        "rangePr": ("sourceName",),
        "olapPr": ("localConnection",),
        "webPr": ("url", "post", "editPage"),
        "textPr": ("sourceFile",),
        "parameter": ("name", "prompt", "string"),
    },
    "querytable": {"queryTable": ("name",), "queryTableField": ("name",), "deletedField": ("name",)},
    "table": {
        "table": ("displayName", "comment", "altText", "altTextSummary"),
        "tableColumn": ("name", "totalsRowLabel"),
        **dict.fromkeys(("filter", "customFilter"), ("val",)),
    },
    "pivottable": {
        "pivotTableDefinition": (
            *("name", "dataCaption", "rowHeaderCaption", "colHeaderCaption", "grandTotalCaption"),
            *("errorCaption", "missingCaption", "altText", "altTextSummary"),
        ),
        "pivotField": ("name", "subtotalCaption"),
        "dataField": ("name",),
        "pivotHierarchy": ("caption",),
        "member": ("name",),
        "item": ("n",),
        "filter": ("name", "description", "stringValue1", "stringValue2"),
    },
    "slicer": {"slicer": ("name", "caption")},
    "slicercache": {"slicerCacheDefinition": ("sourceName",), "i": ("n", "c"), "level": ("sourceCaption",)},
    "timeline": {"timeline": ("name", "caption")},
    "timelinecache": {"timelineCacheDefinition": ("sourceName",)},
    "externallink": {
        "sheetName": ("val",),
        "definedName": ("name",),
        "row": ALL,
        "ddeLink": ("ddeService", "ddeTopic"),
        "ddeItem": ("name",),
        "values": ALL,
        "oleLink": ("progId",),
        "oleItem": ("name",),
    },
    "revisionheaders": {"header": ("userName",)},
    "revisionlog": {
        "rcc": ALL,
        "rsnm": ("oldName", "newName"),
        "ris": ("name",),
        "rdn": ("name", "comment", "oldComment", "description", "oldDescription"),
        "rcmt": ("author",),
    },
    "usernames": {"userInfo": ("name",)},
    "volatiledependencies": {"main": ("first",), "stp": (TEXT,), "v": (TEXT,)},
    "sheetmetadata": {"s": ("v",)},
    "rdrichvalue": {"rv": ALL},
    "rdarray": {"a": ALL},
    "rdsupportingpropertybag": {"spb": ALL},
    "controlproperties": {"item": ("val",)},
    "activex": {"ocxPr": ("value",)},
    "digital-signature-xmlsignature": {
        "SignatureText": (TEXT,),
        "SignatureComments": (TEXT,),
        "X509IssuerName": (TEXT,),
    },
}
# Words in the main parts of workbooks and presentations, which `distinct_lines` reads for their reader.
WORKBOOK: Words = {
    "definedName": ("name", "comment", "description", "help", "statusBar", "customMenu", TEXT),
    "fileSharing": ("userName",),
    **dict.fromkeys(("customWorkbookView", "functionGroup"), ("name",)),
    "webPublishObject": ("title", "destinationFile"),
}
PRESENTATION: Words = {"section": ("name",), "custShow": ("name",)}
GLOSSARY: Words = {"name": ("val",), "description": ("val",)}
_LOOKS = "themes, fonts, views, printer settings, calculation chains and other data about the appearance of a document"
_CUSTOM = "custom XML, bibliographies in it, and its mapping to cells"
_ADDED = "tags, ribbons, tasks and data of add-ins; the binary data of ActiveX controls"
_STATES = "whether and when comments were answered; recipients of a mail merge; PowerPoint's records for co-authoring"
_RENDERED = "renderings of diagrams and charts"
LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        (
            *("theme", "themeoverride", "fonttable", "obfuscatedfont", "styleswitheffects", "websettings"),
            *("viewprops", "presprops", "tablestyles", "printersettings", "calcchain", "diagramcolors"),
            *("diagramlayout", "diagramstyle", "chartstyle", "chartcolorstyle", "richstyles", "namedsheetviews"),
            *("featurepropertybag", "rdrichvaluestructure", "rdrichvaluetypes", "richvaluerel"),
            *("rdsupportingpropertybagstructure", "binindexws", "binindexms", "binaryindex"),
            *("keymapcustomizations", "attachedtoolbars", "vbadata", "windows"),
        ),
        _LOOKS,
    ),
    **dict.fromkeys(
        (
            *("customxmlproperties", "customxml", "xmlmaps", "tablesinglecells", "customproperty"),
            *("customdataproperties", "customdata", "bibliography", "additionalcharacteristics"),
        ),
        _CUSTOM,
    ),
    **dict.fromkeys(
        (
            *("tags", "webextension", "webextensiontaskpanes", "taskpanes", "customui", "activexbin", "inkml+xml"),
            *("inkml", "contentpart"),
        ),
        _ADDED,
    ),
    **dict.fromkeys(
        (
            *("commentsextended", "commentsids", "commentsextensible", "mailmergerecipientdata", "changesinfo"),
            *("revisioninfo", "taskhistory", "slideupdateinfo", "digital-signature-origin"),
        ),
        _STATES,
    ),
    **dict.fromkeys(("diagramdrawing",), _RENDERED),
    # Parts of Visio, as its declaration describes.
    **dict.fromkeys(
        ["masters", "master", "pages", "recordsets", "recordset", "validation", "solutions", "solution", "extensions"],
        "text that is only in masters, and data of shapes",
    ),
}
LEFT = (_LOOKS, _CUSTOM, _ADDED, _STATES, _RENDERED)
KNOWN = frozenset((*READ, *CHILDREN, *WORDS, *LEFT_OUT))
SOURCES: Words = {
    "pivotCacheDefinition": ("refreshedBy",),
    "worksheetSource": ("sheet", "name"),
    "rangeSet": ("sheet", "name"),
    "pageItem": ("name",),
    "cacheHierarchy": ("caption",),
    "kpi": ("caption",),
    "measureGroup": ("caption",),
    "dimension": ("caption",),
}
