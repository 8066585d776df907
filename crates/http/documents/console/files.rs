//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DLA0at2T.js", include_bytes!("assets/feed-DLA0at2T.js")),
    ("assets/index-BMjpNqNr.css", include_bytes!("assets/index-BMjpNqNr.css")),
    ("assets/index-DYndg7jx.js", include_bytes!("assets/index-DYndg7jx.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
