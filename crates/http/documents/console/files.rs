//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DdqTpRCN.js", include_bytes!("assets/feed-DdqTpRCN.js")),
    ("assets/files-C8Wbnekt.js", include_bytes!("assets/files-C8Wbnekt.js")),
    ("assets/index-JpK83xjo.js", include_bytes!("assets/index-JpK83xjo.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
