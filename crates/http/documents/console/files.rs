//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-D1wweFpk.js", include_bytes!("assets/feed-D1wweFpk.js")),
    ("assets/index-B0ShgwFQ.js", include_bytes!("assets/index-B0ShgwFQ.js")),
    ("assets/index-Dnu1VgmL.css", include_bytes!("assets/index-Dnu1VgmL.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
