//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-C3N21vxw.js", include_bytes!("assets/feed-C3N21vxw.js")),
    ("assets/index-BE15U_jg.css", include_bytes!("assets/index-BE15U_jg.css")),
    ("assets/index-D0YiDtsi.js", include_bytes!("assets/index-D0YiDtsi.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
