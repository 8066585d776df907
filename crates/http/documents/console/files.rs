//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-C-PKEy8r.js", include_bytes!("assets/feed-C-PKEy8r.js")),
    ("assets/index-CoOxEpxp.css", include_bytes!("assets/index-CoOxEpxp.css")),
    ("assets/index-DVONEQ3h.js", include_bytes!("assets/index-DVONEQ3h.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
