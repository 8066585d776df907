//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    (
        "assets/feed-DIKSmHym.js",
        include_bytes!("assets/feed-DIKSmHym.js"),
    ),
    (
        "assets/index-CMtUxnJ3.js",
        include_bytes!("assets/index-CMtUxnJ3.js"),
    ),
    (
        "assets/index-DqNPKZoV.css",
        include_bytes!("assets/index-DqNPKZoV.css"),
    ),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
