//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-QL4i3nNi.js", include_bytes!("assets/feed-QL4i3nNi.js")),
    ("assets/files-BJjQTMk7.js", include_bytes!("assets/files-BJjQTMk7.js")),
    ("assets/index-CTtiug_Z.js", include_bytes!("assets/index-CTtiug_Z.js")),
    ("assets/index-yNNWQV6p.css", include_bytes!("assets/index-yNNWQV6p.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
