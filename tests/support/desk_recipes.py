"""How each case of the bundled desk is done, in a person's words.

One line is one turn; `then` joins what is done without looking in between. Only texts that a person
sees are named, so whoever follows a recipe has to find them in what is shown.
"""

RECIPES = {
    "desk-cancel-order": """
        click "Orders"
        wait until "No. 101" shows
        scroll down until "No. 133" shows
        click "Open" in the row with "No. 133"
        say yes, and "damaged in transit", then click "Cancel this order"
        repeat that while "The server failed and nothing was changed. Please try again." shows
        see "Order 133 is cancelled."
    """,
    "desk-refund": """
        click "Refunds"
        type "112" into "Order number", then type "20.50" into "Amount in euros",
            then click "Pay out on"
        click "›"
        click "9"
        click "Request the refund"
        see "refund: 112, 20.50 on 9 June 2026"
    """,
    "desk-agreement": """
        click "Papers"
        read the file behind "terms of delivery"
        type the word after "approval code" into "Approval code",
            then upload "agreement.txt" into "Signed agreement"
        click "Send the papers"
        see "Your papers have been sent."
    """,
    "desk-report": """
        click "Annual report"
        wait until "July" shows
        click "July"
        answer the number before "visitors"
    """,
    "desk-contact": """
        click "Contacts"
        point at "Vera Lind"
        click "Block" in the row with "Vera Lind"
        see "Block: Vera Lind"
    """,
    "desk-parcel": """
        click "Parcels"
        click "Ines Duarte" in the row with "to Porto"
        tick "Signature taken", then click "Handed over"
        see "handed over: Ines Duarte, Porto, signed"
    """,
    "desk-course": """
        click "Courses"
        choose "Glazing" in "Course", then choose "By invoice" in "Payment",
            then type "2" into "Places"
        click "Book"
        see "booked: e2, i, 2"
    """,
    "desk-hours": """
        click "Notices"
        click "opening-hours.txt"
        write "Saturday 10:00-18:00" for "Saturday 10:00-16:00" in the text
        click "Save"
        see "Saved."
    """,
    "desk-room": """
        click "Rooms"
        click "Edit" in the row with "Kiln 2"
        switch "Heating" off
        switch "Light" on
        switch "Fan" on
        switch "Alarm" off
        click "Save"
        see "room: Kiln 2, Light Fan"
    """,
    "desk-attachment": """
        click "Inbox"
        click "Archive" in the row with "Has attachment"
        see "Archive: Jo Park"
    """,
    "desk-guest": """
        click "Guest book"
        scroll down until "Tomas Ek: lovely bowls!" shows
        click "Thank" in the row with "Tomas Ek: lovely bowls!"
        see "thanked: Tomas Ek"
    """,
    "desk-delivery": """
        click "Delivery"
        type "Nord" into "Carrier"
        click "Nordpost"
        type "Mill Lane 3" into "Street and number"
        write "The lane is narrow.⏎Ring twice." for "The lane is narrow." in the text
        click "Save"
        see "delivery: Nordpost, Mill Lane 3, Come to the yard door."
    """,
    "desk-machine": """
        click "Machines"
        unfold "Kiln 2"
        unfold "More"
        click "Out of service"
        see "Out of service: Kiln 2"
    """,
    "desk-chairs": """
        click "Inbox"
        click "Chairs for the opening"
        answer the number before "chairs"
    """,
    "desk-discount": """
        answer "infeasible: nothing here gives a discount"
    """,
}
