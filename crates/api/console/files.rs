//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-D8dm_sa0.js", include_bytes!("assets/feed-D8dm_sa0.js")),
    ("assets/index-CQlcNUJM.css", include_bytes!("assets/index-CQlcNUJM.css")),
    ("assets/index-Dn8JqASR.js", include_bytes!("assets/index-Dn8JqASR.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
