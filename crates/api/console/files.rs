//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Cl_JIE8B.js", include_bytes!("assets/feed-Cl_JIE8B.js")),
    ("assets/index-DqNPKZoV.css", include_bytes!("assets/index-DqNPKZoV.css")),
    ("assets/index-Dra255A_.js", include_bytes!("assets/index-Dra255A_.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
