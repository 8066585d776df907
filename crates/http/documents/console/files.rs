//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-U3ptNeMg.js", include_bytes!("assets/feed-U3ptNeMg.js")),
    ("assets/index-Bu4RmiuL.css", include_bytes!("assets/index-Bu4RmiuL.css")),
    ("assets/index-CCDfymMS.js", include_bytes!("assets/index-CCDfymMS.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
