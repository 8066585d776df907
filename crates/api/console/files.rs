//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    (
        "assets/feed-Bgco4QY1.js",
        include_bytes!("assets/feed-Bgco4QY1.js"),
    ),
    (
        "assets/index-CnTxcr8L.js",
        include_bytes!("assets/index-CnTxcr8L.js"),
    ),
    (
        "assets/index-DD0WcSX5.css",
        include_bytes!("assets/index-DD0WcSX5.css"),
    ),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
