//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-BwGXKpkp.js", include_bytes!("assets/feed-BwGXKpkp.js")),
    ("assets/index-BMjpNqNr.css", include_bytes!("assets/index-BMjpNqNr.css")),
    ("assets/index-D8lUL1Ou.js", include_bytes!("assets/index-D8lUL1Ou.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
