//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CZhjwQDB.js", include_bytes!("assets/feed-CZhjwQDB.js")),
    ("assets/index-D_qpT9Vc.css", include_bytes!("assets/index-D_qpT9Vc.css")),
    ("assets/index-xwJLQgZ-.js", include_bytes!("assets/index-xwJLQgZ-.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
