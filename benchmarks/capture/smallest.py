"""The smallest pages on which listings have lost something, by what they lose."""

SMALLEST = {
    "row": '<table><tr onclick="1" style="cursor:pointer"><td>INV-1<td>Ann</table>',
    "cell": '<table><tr><td onclick="1" style="cursor:pointer">INV-1<td>Ann</table>',
    "header": '<table><tr><th onclick="1" style="cursor:pointer">Date<th>Who</table>',
    "drawing": '<svg onclick="1" style="cursor:pointer" width="20" height="20"><rect width="20"'
    ' height="20"/></svg>',
    "roleless": '<div onclick="1" style="cursor:pointer">One</div>'
    '<div onclick="1" style="cursor:pointer">Two</div>',
    "title only": '<div onclick="1" title="Change picture" style="cursor:pointer;width:20px;'
    'height:20px"></div>',
    "lone in item": '<ul><li><span onclick="1" style="cursor:pointer">Go</span></ul>',
    "lone in cell": '<table><tr><td><div onclick="1" style="cursor:pointer">Go</div></table>',
    "lone in text": '<p>Press <span onclick="1" style="cursor:pointer">here</span> now</p>',
    "sign": '<i onclick="1" title="Delete" style="cursor:pointer">✖</i>',
    "listener": '<div id="a">Go</div><script>a.addEventListener("click", () => {})</script>',
    "blocks": '<div style="cursor:pointer"><div>Draft</div><div>3</div><div>$8</div></div>',
    "delegated": '<table><tr style="cursor:pointer"><td>INV-1<td><input type="checkbox"></table>'
    '<script>document.body.addEventListener("click", () => {})</script>',
    "same text": "<button>Open</button><div><div>Ticket 1</div><div>Open</div></div>",
    "ticked": '<input type="checkbox" checked aria-label="A"><input type="checkbox" disabled'
    ' aria-label="B"><button aria-pressed="true">C</button><button aria-expanded="true">D</button>',
    "collapsed": '<button aria-expanded="false">More</button>',
    "details": "<details><summary>Advanced</summary>Inside</details>",
    "option label": '<select aria-label="Milestone"><option label="(unset)"></option><option>2.4'
    "</select>",
    "optgroup": '<select aria-label="Region"><optgroup label="EU"><option>Rome<option selected>Oslo'
    "</optgroup></select>",
    "disabled option": '<select aria-label="Size"><option>S<option disabled>M</select>',
    "placeholders": '<input type="search" placeholder="Find"><input type="number" placeholder="42">'
    '<input list="l" placeholder="City"><datalist id="l"></datalist>'
    '<label>Name <input placeholder="As on the invoice"></label>',
    "current": '<nav><a href="#a" aria-current="page">A</a> <a href="#b">B</a></nav>',
    "shadow": '<my-b style="cursor:pointer"></my-b><script>customElements.define("my-b", class '
    "extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML "
    '= "<button disabled>Approve</button>" } })</script>',
    "line breaks": '<textarea aria-label="Note">one\ntwo</textarea>',
    "label and text": '<span onclick="1" aria-label="Change picture" style="cursor:pointer">'
    "AM</span>",
    "frame": '<iframe title="Pay" srcdoc="<button>Buy</button><span onclick=1>Terms</span>">'
    "</iframe>",
    "class": '<ul><li class="active"><a href="#a">All</a><li><a href="#b">Open</a></ul>',
    "neighbours": "<p>v4.2</p><p>Security</p><div><button>edit</button>"
    "<button>remove</button></div>",
}

ONE_OF_EACH = """<h1>Trips</h1>
<table><tr onclick="1" style="cursor:pointer"><td>Rome<td>2 days<td><button>Edit</button>
<tr onclick="1" style="cursor:pointer"><td>Oslo<td>3 days<td><button>Edit</button></table>
<label>Name <input placeholder="As on the invoice"></label>
<label>Region <select><optgroup label="EU"><option>Rome<option selected>Oslo</select></label>
<label><input type="checkbox" checked> Insured</label>
<button aria-expanded="false">More</button> <button disabled>Pay</button>"""
"""The page that docs/capture.md shows in each form."""
