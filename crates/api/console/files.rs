//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Bdh9ysN4.js", include_bytes!("assets/feed-Bdh9ysN4.js")),
    ("assets/index-DiA6pIrp.css", include_bytes!("assets/index-DiA6pIrp.css")),
    ("assets/index-Dl1KgshT.js", include_bytes!("assets/index-Dl1KgshT.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
