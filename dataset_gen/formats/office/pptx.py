"""Presentations: slides with a title, lines and a picture (ECMA-376 part 1, §13 and §19)."""

from __future__ import annotations

from dataset_gen.formats.office.ooxml import MAIN, OFFICE, Package, add_object
from dataset_gen.made import Made, Order
from dataset_gen.material.text import prose

MEDIA_TYPE = f"{MAIN}.presentationml.presentation"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_NAMES = f'xmlns:a="{_A}" xmlns:r="{OFFICE}" xmlns:p="{_P}"'
_TREE = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
_COLOUR_NAMES = "dk1 lt1 dk2 lt2 accent1 accent2 accent3 accent4 accent5 accent6 hlink folHlink"
_COLOUR_VALUES = "000000 FFFFFF 44546A E7E6E6 4472C4 ED7D31 A5A5A5 FFC000 5B9BD5 70AD47 0563C1 954F72"
_COLOURS = "".join(
    f'<a:{n}><a:srgbClr val="{v}"/></a:{n}>'
    for n, v in zip(
        _COLOUR_NAMES.split(),
        _COLOUR_VALUES.split(),
        strict=True,
    )
)
_FONT = '<a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/>'
_FILL = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
_THEME = (
    f'<a:theme xmlns:a="{_A}" name="Office"><a:themeElements><a:clrScheme name="Office">{_COLOURS}</a:clrScheme>'
    f'<a:fontScheme name="Office"><a:majorFont>{_FONT}</a:majorFont><a:minorFont>{_FONT}</a:minorFont></a:fontScheme>'
    f'<a:fmtScheme name="Office"><a:fillStyleLst>{_FILL * 3}</a:fillStyleLst><a:lnStyleLst>'
    + f"<a:ln>{_FILL}</a:ln>" * 3
    + "</a:lnStyleLst><a:effectStyleLst>"
    + "<a:effectStyle><a:effectLst/></a:effectStyle>" * 3
    + f"</a:effectStyleLst><a:bgFillStyleLst>{_FILL * 3}</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>"
)
_MASTER = (
    f'<p:sldMaster {_NAMES}><p:cSld><p:spTree>{_TREE}</p:spTree></p:cSld><p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" '
    'tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" accent4="accent4" accent5="accent5" '
    'accent6="accent6" hlink="hlink" folHlink="folHlink"/><p:sldLayoutIdLst><p:sldLayoutId id="2147483649" '
    'r:id="rId1"/></p:sldLayoutIdLst></p:sldMaster>'
)
_LAYOUT = f"<p:sldLayout {_NAMES}><p:cSld><p:spTree>{_TREE}</p:spTree></p:cSld></p:sldLayout>"


def _shape(number: int, paragraphs: list[str]) -> str:
    text = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in paragraphs)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="Text {number}"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr>'
        f'<p:spPr><a:xfrm><a:off x="500000" y="{number * 700000}"/><a:ext cx="8000000" cy="900000"/></a:xfrm>'
        '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>'
        f"<p:txBody><a:bodyPr/>{text}</p:txBody></p:sp>"
    )


_PICTURE = (
    '<p:pic><p:nvPicPr><p:cNvPr id="9" name="Picture 9"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill>'
    '<a:blip r:embed="rId2"/><a:stretch><a:fillRect/></a:stretch></p:blipFill><p:spPr><a:xfrm>'
    '<a:off x="3000000" y="2500000"/><a:ext cx="4000000" cy="3000000"/></a:xfrm><a:prstGeom prst="rect">'
    "<a:avLst/></a:prstGeom></p:spPr></p:pic>"
)
_OBJECT = (
    '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="10" name="Object 10"/><p:cNvGraphicFramePr/><p:nvPr/>'
    '</p:nvGraphicFramePr><p:xfrm><a:off x="6000000" y="5500000"/><a:ext cx="900000" cy="700000"/></p:xfrm><a:graphic>'
    '<a:graphicData uri="http://schemas.openxmlformats.org/presentationml/2006/ole"><p:oleObj showAsIcon="1" '
    'r:id="rId3" imgW="900000" imgH="700000" progId="Package"><p:embed/></p:oleObj></a:graphicData></a:graphic>'
    "</p:graphicFrame>"
)
_EMBEDDING_SHARE = 0.12  # of the presentations that are big enough


def build(order: Order) -> Made:
    """A slide for each 60 kB or so, most with a picture, now and then an embedded document or file."""
    dice = order.dice
    package = Package(MEDIA_TYPE, "ppt")
    slides = max(2, min(60, order.size // dice.between(30_000, 90_000)))
    room = max(0, order.size - 5000 - slides * 1300)
    pictured = [n for n in range(slides) if dice.chance(0.6)] or [0]
    title = prose().title(dice)
    embedded = None
    if room > 30_000 and dice.chance(_EMBEDDING_SHARE):
        embedded = add_object(order, package, 8000)
        room -= 8000
    for number in range(slides):
        lines = prose().paragraphs(dice, 500)
        if number == 0:
            lines = [f"{term}." for term in order.terms] + lines
        relations = [("rId1", "slideLayout", "../slideLayouts/slideLayout1.xml")]
        picture = ""
        if number in pictured and room > 3000:
            made = order.child("jpg", number, room // len(pictured))
            relations.append(("rId2", "image", "../" + package.embed(f"media/image{number + 1}.jpg", made)))
            picture = _PICTURE
        if number == 0 and embedded is not None:
            relations.append(("rId3", embedded[0], f"../{embedded[1]}"))
            picture += _OBJECT
        shapes = _shape(2, [title if number == 0 else prose().title(dice)]) + _shape(3, lines) + picture
        name = f"ppt/slides/slide{number + 1}.xml"
        package.part(
            name,
            f"<p:sld {_NAMES}><p:cSld><p:spTree>{_TREE}{shapes}</p:spTree></p:cSld></p:sld>",
            f"{MAIN}.presentationml.slide+xml",
        )
        package.relations(name, relations)
    _frame(package, slides)
    return package.finish(order, main="ppt/presentation.xml", title=title, pages=slides)


def _frame(package: Package, slides: int) -> None:
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="rIdS{n + 1}"/>' for n in range(slides))
    package.part(
        "ppt/presentation.xml",
        f'<p:presentation {_NAMES}><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/></p:sldMasterIdLst>'
        f'<p:sldIdLst>{ids}</p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/>'
        "</p:presentation>",
        f"{MEDIA_TYPE}.main+xml",
    )
    relations = [("rId1", "slideMaster", "slideMasters/slideMaster1.xml")]
    relations += [(f"rIdS{n + 1}", "slide", f"slides/slide{n + 1}.xml") for n in range(slides)]
    package.relations("ppt/presentation.xml", relations)
    package.part("ppt/slideMasters/slideMaster1.xml", _MASTER, f"{MAIN}.presentationml.slideMaster+xml")
    package.relations(
        "ppt/slideMasters/slideMaster1.xml",
        [("rId1", "slideLayout", "../slideLayouts/slideLayout1.xml"), ("rId2", "theme", "../theme/theme1.xml")],
    )
    package.part("ppt/slideLayouts/slideLayout1.xml", _LAYOUT, f"{MAIN}.presentationml.slideLayout+xml")
    package.relations(
        "ppt/slideLayouts/slideLayout1.xml", [("rId1", "slideMaster", "../slideMasters/slideMaster1.xml")]
    )
    package.part("ppt/theme/theme1.xml", _THEME, f"{MAIN}.theme+xml")
