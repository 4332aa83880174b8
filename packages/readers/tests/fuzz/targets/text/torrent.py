"""torrent: bencoded names and addresses."""

from reading import handler

SEEDS = [
    b"d8:announce13:http://t.test7:comment1:c13:creation datei1600000000e4:infod5:filesld6:lengthi1e4:pathl1:d1:feee4:name1:nee",
    b"d8:encoding3:GBK4:infod9:file treed1:dd1:fd0:d6:lengthi1eeee4:name2:\xc4\xe310:name.utf-83:\xe4\xbd\xa0ee",
]
read = handler("application/x-bittorrent")
