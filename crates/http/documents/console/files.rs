//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-D6pdqRvd.js", include_bytes!("assets/feed-D6pdqRvd.js")),
    ("assets/index-BMjpNqNr.css", include_bytes!("assets/index-BMjpNqNr.css")),
    ("assets/index-OBAPy-WA.js", include_bytes!("assets/index-OBAPy-WA.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
