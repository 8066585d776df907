//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DB-8ivgH.js", include_bytes!("assets/feed-DB-8ivgH.js")),
    ("assets/index-C7uyBuoi.js", include_bytes!("assets/index-C7uyBuoi.js")),
    ("assets/index-eFhCWEcW.css", include_bytes!("assets/index-eFhCWEcW.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
