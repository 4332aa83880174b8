"""Text in pictures, by tesseract where it is installed (docs/ocr.md).

A task of phase ocr is `phase.run`: for each item `reading.read` takes its `pages` and gives each one to
`tesseract.recognise`, a process of its own that may die without loss."""
